"""Speed, measured against yardsticks in the same run."""
