"""Tests of the verify.py protocol."""
