/** Notifications. Text from outside (settings, paths, errors) is sanitized here, and only here. */
import * as vscode from 'vscode';
import { sanitizeText } from './sanitizeText';

export function showError(message: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showErrorMessage(sanitizeText(message), ...actions);
}

export function showWarning(message: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(sanitizeText(message), ...actions);
}

export function showInformation(message: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showInformationMessage(sanitizeText(message), ...actions);
}
