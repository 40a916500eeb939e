"""The problems of each setting, for tuning and for judging."""
