"""Entries of Verma, Hanawal, Rajkumar and Sankaran (2019), and functions that only they use."""
