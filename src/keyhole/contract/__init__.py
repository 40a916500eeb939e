"""What a policy, a world and a setting are, and how compiled code sees them."""
