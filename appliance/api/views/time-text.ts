import { type Instant, instantText } from '../../domain/instant.ts';

export const timeText = (at: Instant | null): string | null => (at === null ? null : instantText(at));
