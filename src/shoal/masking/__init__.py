"""Group anonymity: hide where a group is concentrated, by swapping records between districts (spec/4)."""
