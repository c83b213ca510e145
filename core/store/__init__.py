"""What is kept between runs: jobs with the workers that answer them, and tuning sessions."""
