"""Tests of the website."""
