"""SeisSol decks: parameter files read and converted to cases."""
