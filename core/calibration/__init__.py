"""Step times fitted to what a real engine did, and its run beside the simulated one."""
