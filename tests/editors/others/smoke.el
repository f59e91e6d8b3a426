;;; smoke.el --- What Eglot shows of a profile -*- lexical-binding: t -*-
;; Run by test_emacs.py, which reads the JSON at the end. Questions are answered here.

(add-to-list 'load-path (getenv "RIDGELINE_EMACS"))
(require 'ridgeline)
(require 'flymake)

(setcdr (assq 'python-mode eglot-server-programs) (list (getenv "RIDGELINE_BINARY") "serve"))
(setq-default eglot-workspace-configuration
              `((:ridgeline . (:python ,(getenv "RIDGELINE_PYTHON") :timeBudget 0.2 :batchSizes [16 256]))))

(defun wait-for (what condition)
  "Wait until CONDITION is non-nil, and return it; WHAT is named when it never is."
  (let ((deadline (+ (float-time) 60)) result)
    (while (not (setq result (funcall condition)))
      (when (> (float-time) deadline) (error "No %s" what))
      (accept-process-output nil 0.05))
    result))

(defun go-to (words)
  (goto-char (point-min))
  (search-forward words))

(defun hover ()
  "What the echo area would show of the place at point."
  (let (shown)
    (eglot-hover-eldoc-function (lambda (words &rest _) (setq shown words)))
    (wait-for "hover" (lambda () shown))
    (substring-no-properties shown)))

(defun titles (actions) (apply #'vector (mapcar (lambda (action) (plist-get action :title)) actions)))

(defvar asked nil "The last question.")
(advice-add 'completing-read :override (lambda (prompt &rest _) (setq asked (substring-no-properties prompt)) "Profile"))

(find-file (getenv "ENTRY"))
(python-mode)
(set-window-buffer (selected-window) (current-buffer))
(apply #'eglot (eglot--guess-contact))
(wait-for "server" #'eglot-current-server)
(let (profiled answer)
  (advice-add 'message :before (lambda (format &rest words)
                                 (let ((said (and format (apply #'format format words))))
                                   (when (and said (string-prefix-p "ridgeline: " said)) (setq profiled said)))))
  (ridgeline-profile)
  (wait-for "profile" (lambda () profiled))
  (setq answer (list :said profiled :asked (or asked "")))
  (go-to "self.fc1(hidden)")
  (setq answer (plist-put answer :hover (hover)))
  (go-to "def input_provider")
  (setq answer (plist-put answer :actions (titles (eglot-code-actions (point)))))
  ;; Eglot 1.9 shows no inlay hints: this is what later ones ask for.
  (let ((hints (jsonrpc-request (eglot-current-server) :textDocument/inlayHint
                                (list :textDocument (eglot--TextDocumentIdentifier)
                                      :range (list :start (list :line 0 :character 0)
                                                   :end (list :line 1000 :character 0))))))
    (setq answer (plist-put answer :hints (apply #'vector (mapcar (lambda (hint) (plist-get hint :label)) hints)))))
  (go-to "def model_provider")
  (replace-match "def model_provide")
  (eglot--signal-textDocument/didChange) ; what Eglot does when one stops typing, which a batch never does
  (wait-for "diagnostic" (lambda ()
                           (flymake-start)
                           (seq-find (lambda (one) (string-search "model_provider" (flymake-diagnostic-text one)))
                                     (flymake-diagnostics))))
  (setq answer (plist-put answer :diagnostics
                          (apply #'vector (mapcar (lambda (one) (substring-no-properties (flymake-diagnostic-text one)))
                                                  (flymake-diagnostics)))))
  (setq answer (plist-put answer :fixes (titles (eglot-code-actions (point-min) (point-max)))))
  (princ (format "\nJSON %s\n" (json-serialize answer))))
(set-buffer-modified-p nil)
(eglot-shutdown (eglot-current-server))
