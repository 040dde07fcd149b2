package app_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/app"
)

const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://ADDRESS"}}]
contexts: [{name: x, context: {cluster: c}}]
current-context: x
`

func TestCommandLine(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(strings.ReplaceAll(nowhere, "ADDRESS", unused(t))), 0o600); err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		args   string
		code   int
		out    string
	}{
		"Nothing":  {"without a command, all commands are listed", "", 2, "provider-nats run"},
		"Help":     {"help lists them, too", "help", 0, "provider-nats dev"},
		"Unknown":  {"a typing error", "rum", 2, `there is no command "rum"`},
		"FlagHelp": {"flags are listed", "run --help", 0, "-max-reconcile-rate"},
		"DevHelp":  {"flags are listed", "dev --help", 0, "-nats-port"},
		"PlanHelp": {"flags are listed", "plan --help", 0, "-field-manager"},
		"PlanFlag": {"a typing error is no change", "plan --knd Stream", 1, "flag provided but not defined: -knd"},
		"Flag":     {"a typing error", "run --pol 1s", 2, "flag provided but not defined: -pol"},
		"Argument": {"nothing is ignored", "run please", 2, `unexpected argument "please"`},
		"Poll":     {"never poll without a pause", "run --poll 0s", 2, "--poll must be more than 0"},
		"Jitter": {
			"never a delay below zero",
			"run --poll 1s --poll-jitter 2s", 2, "--poll-jitter must be less than --poll",
		},
		"Sync":    {"never resync without a pause", "run --sync 0s", 2, "--sync must be more than 0"},
		"Probe":   {"never ask without a pause", "run --restore-probe -1s", 2, "--restore-probe must not be negative"},
		"Timeout": {"never a pass without time", "run --timeout 0s", 2, "--timeout must be more than 0"},
		"Status": {
			"show no operator's page to others", "run --status-addr :8082", 2,
			"--status-addr: the status page is not served at \":8082\"",
		},
		"Rate": {"never stand still", "dev --max-reconcile-rate 0", 2, "--max-reconcile-rate must be more than 0"},
		"Retry": {
			"never without a pause",
			"run --leader-elect-retry-period 0s", 2, "--leader-elect-retry-period must be more than 0",
		},
		"Renew": {
			"time to try twice",
			"run --leader-elect-renew-deadline 3s", 2, "--leader-elect-renew-deadline must be more than 1.2 times",
		},
		"Lease": {
			"never two leaders",
			"run --leader-elect-lease-duration 10s", 2, "--leader-elect-lease-duration must be more than",
		},
		"Kubeconfig": {
			"a path that leads nowhere",
			"run --kubeconfig /does/not/exist", 1, "cannot find a cluster: name a kubeconfig by --kubeconfig",
		},
		"ChangeLog": {
			"a record that cannot be kept", "run --kubeconfig " + kubeconfig + " --change-log /does/not/exist", 1,
			"cannot record changes: name another file by --change-log",
		},
		"NoCluster": {
			"a cluster that does not answer",
			"run --kubeconfig " + kubeconfig + " --health-probe-bind-address 0 --metrics-bind-address 0", 1,
			"cannot read namespace kube-system",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer

			code := app.Main(t.Context(), strings.Fields(tc.args), &out, &errs)
			if code != tc.code {
				t.Errorf("\n%s\nMain(%q): want exit code %d, got %d", tc.reason, tc.args, tc.code, code)
			}

			if all := out.String() + errs.String(); !strings.Contains(all, tc.out) {
				t.Errorf("\n%s\nMain(%q): want output with %q, got:\n%s", tc.reason, tc.args, tc.out, all)
			}
		})
	}
}

// unused returns an address on which no server listens.
func unused(t *testing.T) string {
	t.Helper()

	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer l.Close()

	return l.Addr().String()
}
