//! Batched ranged reads over any storage: plan, coalesce, schedule, deliver.
