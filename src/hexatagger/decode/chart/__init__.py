"""Charts that know heads: constraints, their k-best trees and probabilities. O(N⁴), one sentence at a time."""
