"""From the functions of a class to machine code: compiled, linked, kept between processes."""
