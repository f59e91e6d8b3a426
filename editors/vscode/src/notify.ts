/** Notifications. Text from outside (settings, paths, errors) is made inert here, and only here. */
import * as vscode from 'vscode';
import { inert } from './inert';

export function showError(message: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showErrorMessage(inert(message), ...actions);
}

export function showWarning(message: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(inert(message), ...actions);
}

export function showInformation(message: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showInformationMessage(inert(message), ...actions);
}
