"""The replaced rules, part by part. Each is the original but for one mistake, which its first line tells.

Every signature is that of the rule it replaces. Many are seen in brokers and test brokers; the mark on the
function says where, and where in the scope small it dies first, and by which property.
"""
