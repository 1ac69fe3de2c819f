"""How the searches behave, and the published tables computed again."""
