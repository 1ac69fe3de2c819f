"""What an intruder can try on a release: attacks that are measured and reported."""
