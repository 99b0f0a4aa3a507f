"""The SaaS-Bench verify.py protocol."""
