"""Planning of a case on a grid."""
