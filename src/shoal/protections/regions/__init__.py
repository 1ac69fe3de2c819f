"""Group anonymity: swaps between regions that hide where a group is concentrated."""
