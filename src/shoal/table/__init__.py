"""Tables and columns: roles, kinds, values as numbers or codes, domains and taxonomies."""
