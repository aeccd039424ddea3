import type { Instant } from '../domain/instant.ts';

export interface Clock {
  now(): Instant;
}
