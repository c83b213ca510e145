"""A shell script read for what it would start: words, variables, arrays, heredocs, conditions."""
