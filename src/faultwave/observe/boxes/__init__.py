"""Wave fields recorded around a box for injection into another run."""
