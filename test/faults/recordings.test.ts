import { describe, expect, it } from 'vitest';
import { eventsOf as observedEvents } from '../trail/observed.ts';
import { CATALOGUE, faultById } from './catalogue.ts';
import { answersTable } from './documented.ts';
import { answerTo, compactRecording, recordedIds, recordingText } from './recordings.ts';
import { isRight } from './result.ts';

/** Recordings whose first answer is wrong, with what it is. A change that makes one right must remove it here. */
const KNOWN_WRONG: Readonly<Record<string, string>> = {};

const MEGABYTE = 1024 * 1024;

describe('the recordings of catalogue faults', () => {
  it('belong to faults of the catalogue', () => {
    const known = CATALOGUE.map(({ id }) => id);
    expect(recordedIds().filter((id) => !known.includes(id))).toEqual([]);
    expect(recordedIds().length).toBeGreaterThan(0);
  });

  it.each(recordedIds())('answer %s with a right cause first', (id) => {
    const fault = faultById(id);
    const first = answerTo(id).diagnosis?.id ?? null;
    const wrong = KNOWN_WRONG[id];
    if (wrong === undefined) expect(isRight(fault, first), `the first answer is ${first}`).toBe(true);
    else expect(first).toBe(wrong);
    expect(fault.harmful).not.toContain(first);
  });

  it('have the answers of answers.txt: a changed rule shows here which answers change', async () => {
    await expect(answersTable()).toMatchFileSnapshot('answers.txt');
  });

  it('are answered right in at least 95 of 100 cases', () => {
    const right = recordedIds().filter((id) => isRight(faultById(id), answerTo(id).diagnosis?.id ?? null));
    expect(right.length / recordedIds().length).toBeGreaterThanOrEqual(0.95);
  });

  it('are small, and name neither files of the machine that made them nor secrets', () => {
    for (const id of recordedIds()) {
      const text = recordingText(id);
      expect(text.length, id).toBeLessThan(MEGABYTE / 8);
      expect(text, id).not.toMatch(/\/tmp\/|\/run\/coldiron|\/root\/|\/home\//);
      // The id of a token has twelve digits and is no secret.
      expect(text, id).not.toMatch(
        /-----BEGIN|"(?:password|salt)":"[^"]+"|"key":"(?!(?:clear|tpm|media)")[^"]+"|"token":"[^"]{13,}"/,
      );
    }
  });
});

describe('a compact recording', () => {
  const frame = { seq: 1, at: 1, actor: 'x', machine: 'm', correlationId: null };
  const eventsOf = (...events: readonly object[]): unknown => {
    const text = JSON.stringify({ format: 1, situation: { hostname: 'node01', events } });
    return JSON.parse(compactRecording(text, '/tmp/x')).situation.events;
  };

  it('has no path of the state folder', () => {
    const appliance = [{ words: 'the disk of /tmp/x is full' }];
    const text = JSON.stringify({ format: 1, situation: { events: [], appliance } });
    expect(compactRecording(text, '/tmp/x')).toContain('the disk of /var/lib/coldiron is full');
  });

  it('keeps all events while no work has begun', () => {
    const noted = { ...frame, kind: 'health.silent', data: {} };
    expect(eventsOf(noted, noted)).toEqual([noted, noted]);
  });

  it('leaves out the events of earlier work', () => {
    const [first] = observedEvents([[0, 'lifecycle.commissioning']]);
    if (first === undefined) throw new Error('no event');
    const earlier = { ...frame, kind: 'health.silent', data: {} };
    expect(eventsOf(first, earlier, first, earlier)).toEqual([first, earlier]);
  });
});
