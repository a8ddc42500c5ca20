"""What the plugin of pytest does: targets as tests, and budgets in a team's own tests."""
