"""What may be wrong with a spec that loads: rules that know the domain, and how findings leave."""
