"""What the scoring process puts beside a task's verifier: `hemra_verifier`, standard library only.

Nothing of hemra imports it; its bytes are part of the scorer digest of every verifier that uses it.
"""
