"""Tools of the developers; not a part of the installed package."""
