package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram is the variable of the environment by which the program of the tests is kubectl-moorage.
const asProgram = "TEST_AS_KUBECTL_MOORAGE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if err := os.Unsetenv(asProgram); err != nil {
			panic(err)
		}

		os.Exit(Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}

	os.Exit(m.Run())
}

// inShells are scripts that load the completion from $SCRIPT and print what a shell proposes for the words of its
// arguments. bash and zsh have stand-ins for what the functions of their packages do.
func inShells() map[string]string {
	return map[string]string{
		"bash": `
_get_comp_words_by_ref() {
	words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
}
compopt() { :; }
source "$SCRIPT"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
__start_kubectl-moorage
printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh": `
compdef() { :; }
_describe() { print -l ${(M)${(@P)2}:#$words[CURRENT]*} }
source "$SCRIPT"
words=("$@") CURRENT=$#
_kubectl-moorage`,
		"fish": `
source $SCRIPT
complete --do-complete "$argv"`,
	}
}

// TestCompletionInShells checks that the shells that this machine has propose objects. bash is one of them.
func TestCompletionInShells(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))
	s.add("streams.nats.example.org", stream("offers"))
	s.add("streams.nats.example.org", stream("logs"))

	bin := t.TempDir()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	write(t, filepath.Join(bin, "kubectl-moorage"), "#!/bin/sh\n"+asProgram+"=1 exec '"+self+"' \"$@\"\n")

	for shell, script := range inShells() {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil && shell != "bash" {
				t.Logf("this machine has no %s: its completion was not run", shell)

				return
			}

			file := filepath.Join(t.TempDir(), "completion")
			write(t, file, runCompletion(t, "completion", shell))

			args := []string{"-c", script, shell, "kubectl-moorage", "why", "stream", "o"}
			if shell == "fish" {
				args = []string{"--no-config", "-c", script, "kubectl-moorage", "why", "stream", "o"}
			}

			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Env = append(os.Environ(), "SCRIPT="+file, "KUBECONFIG="+s.kubeconfig, "HOME="+t.TempDir(),
				"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))

			out, err := cmd.CombinedOutput()
			if got := strings.Fields(string(out)); err != nil || strings.Join(got, " ") != "offers orders" {
				t.Errorf("%v, and the proposals are\n%s", err, out)
			}
		})
	}
}

// write writes a program.
func write(t *testing.T, file, text string) {
	t.Helper()

	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
