// Reads a barcode with the camera where the browser can do it by itself. Elsewhere the button is absent: QR labels are links, which
// every phone opens with its camera, and a serial number can be typed.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { icon } from '../parts/icon.ts';

interface Detector {
  detect(source: HTMLVideoElement): Promise<readonly { readonly rawValue: string }[]>;
}

type DetectorClass = new (options: { readonly formats: readonly string[] }) => Detector;

const detectorClass = (): DetectorClass | null =>
  (globalThis as { BarcodeDetector?: DetectorClass }).BarcodeDetector ?? null;

const FORMATS = ['qr_code', 'code_128', 'code_39', 'data_matrix'];
const LOOK_EVERY_MS = 200;

export function BarcodeButton({ found }: { found: (code: string) => void }): VNode | null {
  const [open, setOpen] = useState(false);
  const Detector = detectorClass();
  if (Detector === null || !navigator.mediaDevices) return null;
  const done = (code: string): void => {
    setOpen(false);
    found(code);
  };
  return html`<button type="button" onClick=${() => setOpen(!open)}>${icon('scan')}${open ? 'Stop' : 'Scan'}</button>
    ${open && html`<${Camera} detector=${Detector} found=${done} />`}`;
}

function Camera({ detector: Detector, found }: { detector: DetectorClass; found: (code: string) => void }): VNode {
  const video = useRef<HTMLVideoElement>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let stopped = false;
    let stream: MediaStream | null = null;
    const look = async (): Promise<void> => {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
      const shown = video.current;
      if (stopped || !shown) return;
      shown.srcObject = stream;
      await shown.play();
      const detector = new Detector({ formats: FORMATS });
      while (!stopped) {
        const [code] = await detector.detect(shown);
        if (code) return found(code.rawValue);
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    };
    look().catch(() => setProblem('The camera cannot be used. Allow it for this page, or type the serial number.'));
    return () => {
      stopped = true;
      for (const track of stream?.getTracks() ?? []) track.stop();
    };
  }, []);
  return problem === null
    ? html`<video class="camera" ref=${video} muted playsinline aria-label="What the camera sees"></video>`
    : html`<p class="tone-attention" role="alert">${problem}</p>`;
}
