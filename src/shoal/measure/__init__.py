"""What a release lost and what risk is left: measures of original and protected arrays."""
