"""What is kept between runs: measuring jobs and the workers that answer them."""
