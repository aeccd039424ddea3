// Recordings of catalogue faults: made small, free of paths of the machine that made them, and replayed.

import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replayed } from '../../appliance/cli/replayed.ts';
import type { StoredEvent } from '../../appliance/domain/event.ts';
import { knownEvent } from '../../appliance/domain/events/known-event.ts';
import { startsWork } from '../../appliance/trail/diagnosis/boot-events.ts';

const FOLDER = join(import.meta.dirname, 'recordings');
/** What the state folder is called in recordings. */
const STATE = '/var/lib/coldiron';

const fileOf = (id: string): string => join(FOLDER, `${id}.json`);

/** Without the events of earlier work. */
export function compactRecording(text: string, state: string): string {
  const recording = JSON.parse(text.replaceAll(state, STATE)) as { situation: { events: readonly StoredEvent[] } };
  const { events } = recording.situation;
  const begins = events.findLastIndex((event) => {
    const known = knownEvent(event);
    return known !== null && startsWork(known);
  });
  const kept = events.slice(Math.max(0, begins));
  const lines = kept.map((event) => JSON.stringify(event)).join(',\n');
  const rest = { ...recording, situation: { ...recording.situation, events: [] } };
  return `${JSON.stringify(rest).replace('"events":[]', `"events":[\n${lines}\n]`)}\n`;
}

export const saveRecording = (id: string, recording: string): Promise<void> => writeFile(fileOf(id), recording);

export const recordedIds = (): readonly string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();

export const recordingText = (id: string): string => readFileSync(fileOf(id), 'utf8');

export const answerTo = (id: string) => replayed(`${id}.json`, recordingText(id)).answer;
