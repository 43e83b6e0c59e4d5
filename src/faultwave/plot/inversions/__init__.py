"""Pictures of inversions: slip on faults, and moment tensors."""
