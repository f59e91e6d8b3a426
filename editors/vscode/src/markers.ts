/** Markers in the gutter, and inlay hints as text: for the whole step, or for the node being explored. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { about, bytes, share, timed } from './figures';
import { type Bars, barsOf, type Palette, picture } from './glyphs';
import type { Profiles } from './profiles';
import type { LineCost, LineCosts } from './protocol';

/** Hints of hot lines in what can be seen, as the daemon has them. */
const mostHot = 12;

export class Markers implements vscode.Disposable {
  private readonly types = new Map<string, vscode.TextEditorDecorationType>();
  private readonly busy = new Map<vscode.TextEditor, { repaint: boolean }>();
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly daemon: Daemon,
    private readonly profiles: Profiles,
  ) {
    const { window, workspace } = vscode;
    this.disposables = [
      profiles.onDidChange(() => this.paintAll()),
      window.onDidChangeVisibleTextEditors(() => this.paintAll()),
      window.onDidChangeActiveColorTheme(() => this.disposeTypes()),
      workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('ridgeline.gutterMarkers')) this.paintAll();
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        for (const editor of window.visibleTextEditors) if (editor.document === document) void this.paint(editor);
      }),
    ];
  }

  /** The costs of a document's lines within the node being explored; null where there are none. */
  async costs(document: vscode.TextDocument): Promise<LineCosts | null> {
    const { summary, breakdown } = this.profiles;
    if (summary === null || document.languageId !== 'python') return null;
    try {
      return await this.daemon.request('ridgeline/lineCosts', {
        textDocument: { uri: document.uri.toString() },
        profileId: summary.profileId,
        node: breakdown?.node ?? '',
      });
    } catch {
      return null; // the profile is gone, and its successor will be announced
    }
  }

  /** Inlay hints as the daemon's, for the node being explored. */
  async hints(document: vscode.TextDocument, range: vscode.Range): Promise<vscode.InlayHint[]> {
    const settings = vscode.workspace.getConfiguration('ridgeline.inlayHints', document);
    const shown = settings.get<string>('show', 'hot');
    const costs = shown === 'none' ? null : await this.costs(document);
    const threshold = shown === 'all' ? 0 : settings.get('threshold', 0.02);
    const part = (cost: LineCost) => Math.max(cost.share ?? 0, cost.peakShare ?? 0);
    return (costs?.lines ?? [])
      .filter((cost) => cost.line < document.lineCount && cost.line >= range.start.line && cost.line <= range.end.line)
      .filter((cost) => cost.label !== '' && part(cost) >= threshold)
      .sort((a, b) => part(b) - part(a))
      .slice(0, shown === 'all' ? undefined : mostHot)
      .map((cost) => {
        const hint = new vscode.InlayHint(
          document.lineAt(cost.line).range.end,
          `${cost.label} in ${this.profiles.breakdown?.name}${costs?.stale ? ' (stale)' : ''}`,
        );
        hint.paddingLeft = true;
        return hint;
      });
  }

  dispose(): void {
    this.disposeTypes();
    for (const disposable of this.disposables) disposable.dispose();
  }

  private paintAll(): void {
    for (const editor of vscode.window.visibleTextEditors) void this.paint(editor);
  }

  /** One request at a time for each editor; what changes meanwhile is painted after it. */
  private async paint(editor: vscode.TextEditor): Promise<void> {
    const running = this.busy.get(editor);
    if (running !== undefined) {
      running.repaint = true;
      return;
    }
    const turn = { repaint: true };
    this.busy.set(editor, turn);
    while (turn.repaint) {
      turn.repaint = false;
      const costs = await this.costs(editor.document);
      if (!turn.repaint) this.decorate(editor, costs);
    }
    this.busy.delete(editor);
  }

  private decorate(editor: vscode.TextEditor, costs: LineCosts | null): void {
    const ranges = new Map<string, vscode.DecorationOptions[]>();
    const shown = vscode.workspace.getConfiguration('ridgeline').get('gutterMarkers', true);
    for (const cost of shown ? (costs?.lines ?? []) : []) {
      const bars = barsOf(cost);
      if (bars.time + bars.memory === 0) continue;
      const key = JSON.stringify([bars, costs?.stale]);
      if (!this.types.has(key)) this.types.set(key, markerType(bars, costs?.stale === true));
      const range = editor.document.lineAt(Math.min(cost.line, editor.document.lineCount - 1)).range;
      ranges.set(key, [
        ...(ranges.get(key) ?? []),
        { range, hoverMessage: plain(this.meaning(cost, costs?.stale === true)) },
      ]);
    }
    for (const [key, type] of this.types) editor.setDecorations(type, ranges.get(key) ?? []);
  }

  /** What the bars beside a line say. */
  private meaning(cost: LineCost, stale: boolean): string {
    const { time, memory, isCalled } = barsOf(cost);
    const mark = about(this.profiles.summary);
    const bars = [
      ...(time === 0
        ? []
        : isCalled
          ? [
              `left bar, time with what the line calls: ${share(cost.totalShare)} of the step (${timed(cost.totalMs, mark)})`,
            ]
          : [`left bar, time: ${share(cost.share)} of the step (${timed(cost.timeMs, mark)})`]),
      ...(memory === 0 ? [] : [`right bar, memory: ${share(cost.peakShare)} of the peak (${bytes(cost.peakBytes)})`]),
    ];
    const within = this.profiles.isExploring ? ` within ${this.profiles.breakdown?.name ?? ''}` : '';
    return `In the gutter${within}: ${bars.join('; ')}${stale ? '; stale' : ''}`;
  }

  private disposeTypes(): void {
    for (const type of this.types.values()) type.dispose();
    this.types.clear();
    this.paintAll();
  }
}

/** Names come from the user's code: they are text, not Markdown. */
function plain(text: string): vscode.MarkdownString {
  return new vscode.MarkdownString().appendText(text);
}

function markerType(bars: Bars, stale: boolean): vscode.TextEditorDecorationType {
  const { HighContrast, HighContrastLight } = vscode.ColorThemeKind;
  const kind = vscode.window.activeColorTheme.kind;
  const strong = kind === HighContrast || kind === HighContrastLight;
  const icon = (palette: Palette) => ({
    gutterIconPath: vscode.Uri.parse(
      `data:image/svg+xml;base64,${Buffer.from(picture(palette, bars, stale)).toString('base64')}`,
    ),
    gutterIconSize: 'contain',
  });
  return vscode.window.createTextEditorDecorationType({
    light: icon(strong ? 'highContrastLight' : 'light'),
    dark: icon(strong ? 'highContrast' : 'dark'),
    rangeBehavior: vscode.DecorationRangeBehavior.OpenClosed,
  });
}
