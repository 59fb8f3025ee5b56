"""Times of pypto beside other tools and beside what the machine can do: ``python -m bench``."""
