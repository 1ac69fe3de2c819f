"""One file a public function: a table in, a search in the middle, a checked release out."""
