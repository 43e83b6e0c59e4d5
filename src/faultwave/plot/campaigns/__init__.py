"""Pictures of the tables of campaigns."""
