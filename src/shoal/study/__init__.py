"""Studies of how the searches behave, and the papers' tables made again."""
