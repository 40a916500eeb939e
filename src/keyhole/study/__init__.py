"""Studies: many decisions in flight, shared by threads and processes, none of them lost."""
