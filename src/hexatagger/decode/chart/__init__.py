"""Charts over lexicalised spans: constraints and head scores, their k-best trees and probabilities. O(N⁴) each."""
