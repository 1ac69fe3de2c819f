"""What an intruder gets, one module for each attack."""
