// Times as people read them: relative, with the absolute time at hand. One clock for the page, which ticks each second.

import { signal } from '@preact/signals';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The time of the appliance, as far as known: browsers at the rack have wrong clocks. */
export const now = signal(Date.now());
/** How far it is ahead of the clock of this device. */
let offset = 0;

export const tick = (): void => {
  now.value = Date.now() + offset;
};

export function setApplianceTime(time: string): void {
  const read = Date.parse(time);
  if (!Number.isNaN(read)) offset = read - Date.now();
  tick();
}

const pad = (value: number): string => String(value).padStart(2, '0');

/** `4 s`, `12 min`, `3 h`, `5 d`: for columns. */
export function span(milliseconds: number): string {
  const length = Math.max(0, milliseconds);
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return `${Math.floor(length / MINUTE)} min`;
  if (length < 2 * DAY) return `${Math.floor(length / HOUR)} h`;
  return `${Math.floor(length / DAY)} d`;
}

export function ago(time: string, at: number): string {
  const length = at - Date.parse(time);
  if (length < 5 * SECOND) return length < -5 * SECOND ? `in ${span(-length)}` : 'just now';
  return `${span(length)} ago`;
}

/** `4:09`, `1:02:09`: what is left until a deadline; `0:00` when it has passed. */
export function countdown(deadline: string, at: number): string {
  const left = Math.max(0, Math.ceil((Date.parse(deadline) - at) / SECOND));
  const minutes = Math.floor(left / 60);
  if (minutes < 60) return `${minutes}:${pad(left % 60)}`;
  return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(left % 60)}`;
}

/** `2026-11-18 10:48:25` in the time zone of the reader. */
export function absolute(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${clockTime(time)}`;
}

export function clockTime(time: string): string {
  const date = new Date(time);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** `0.3 s`, `6.1 s`, `2 min 5 s`: lengths of stages. */
export function seconds(value: number): string {
  if (value < 60) return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
