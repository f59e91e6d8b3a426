;;; ridgeline.el --- Eglot with the Ridgeline language server -*- lexical-binding: t -*-

;; What Emacs shows of a training step needs no more than this; docs/user/other-editors.md says what that is.

(require 'eglot)

(add-to-list 'eglot-server-programs '(python-mode . ("ridgeline" "serve")))

;; The section of the server's settings (docs/user/settings.md). Empty: the interpreter is found.
(setq-default eglot-workspace-configuration '((:ridgeline . (:python ""))))

(defun ridgeline-profile ()
  "Profile the entry point that the buffer shows.
Emacs asks whether its code may run.  The echo area tells how it ended."
  (interactive)
  (jsonrpc-async-request
   (or (eglot-current-server) (user-error "No server: M-x eglot starts it"))
   :workspace/executeCommand
   (list :command "ridgeline.profile"
         :arguments (vector (concat "file://" (url-hexify-string (file-truename buffer-file-name)
                                                                 (cons ?/ url-unreserved-chars)))))
   :timeout 3600
   :success-fn (lambda (_summary) (message "ridgeline: profiled"))
   :error-fn (lambda (problem) (message "ridgeline: %s" (plist-get problem :message)))))

(provide 'ridgeline)
;;; ridgeline.el ends here
