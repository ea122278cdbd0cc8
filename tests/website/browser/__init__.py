"""The website in a real browser."""
