package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestBadInput checks that each mistake is answered by one line and exit code 1.
func TestBadInput(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))

	cases := map[string]struct {
		args []string
		want string
	}{
		"UnknownCommand": {[]string{"drfit"}, `there is no command "drfit"; kubectl moorage --help`},
		"UnknownHelp":    {[]string{"help", "drfit"}, `there is no command "drfit"`},
		"UnknownFlag":    {[]string{"drift", "--every"}, "unknown flag: --every; see kubectl moorage drift --help"},
		"UnknownFormat":  {[]string{"drift", "-o", "yaml"}, `there is no format "yaml" of the output; use -o json`},
		"UnknownKind": {
			[]string{"why", "strem/orders"},
			`no kind "strem"; kinds of managed resources are disks.disk.example.org, streams.nats.example.org`,
		},
		"NoName":          {[]string{"why", "stream"}, "name one object: KIND/NAME, such as stream/orders"},
		"NoArguments":     {[]string{"why"}, "name one object"},
		"TwoNames":        {[]string{"why", "stream", "a", "b"}, "name one object"},
		"Missing":         {[]string{"why", "stream/none"}, `there is no Stream "none" in namespace "sea"`},
		"OtherNamespace":  {[]string{"why", "stream/orders", "-n", "land"}, `no Stream "orders" in namespace "land"`},
		"EmptyName":       {[]string{"why", "stream/"}, `"stream/" names no object: write KIND/NAME`},
		"Mixed":           {[]string{"pause", "stream/orders", "logs"}, "write either KIND/NAME for each object"},
		"NoObjects":       {[]string{"pause"}, "name objects: KIND/NAME, or a kind with -l or --all"},
		"WholeKind":       {[]string{"pause", "streams"}, "name objects of streams, or use -l or --all"},
		"NameAndAll":      {[]string{"pause", "stream/orders", "--all"}, "use either names of objects or --all"},
		"NameEverywhere":  {[]string{"pause", "stream/orders", "-A"}, "use -n instead of -A"},
		"NameAndSelector": {[]string{"pause", "stream/orders", "-l", "a=b"}, "use either the name of an object"},
		"UnknownContext":  {[]string{"drift", "--context", "there"}, `context "there"`},
		"ControlCharacters": {
			[]string{"why", "str\x1b[31m\nem/orders"}, `the API server has no kind "str[31m em"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, s.run("", tc.args...), tc.want)
		})
	}
}

// check checks that a command has failed with one line.
func check(t *testing.T, got result, want string) {
	t.Helper()

	if got.code != 1 || got.out != "" || strings.Count(got.err, "\n") != 1 {
		t.Errorf("want one line and exit code 1, got %+v", got)
	}

	if !strings.Contains(got.err, want) {
		t.Errorf("there is no %q in\n%s", want, got.err)
	}
}

func TestNoAccess(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	broken := filepath.Join(t.TempDir(), "broken")

	for file, content := range map[string]string{empty: "", broken: "clusters: {"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	end := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>\n<body>\x1b[31mWelcome</body>\n</html>"))
	}))

	t.Cleanup(website.Close)
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(end) })

	t.Setenv("KUBECONFIG", empty)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")

	cases := map[string]struct {
		args []string
		want string
	}{
		"NoKubeconfig": {nil, "no kubeconfig was found, or it is empty: set $KUBECONFIG, or use --kubeconfig"},
		"NoSuchFile":   {[]string{"--kubeconfig", "/no/such"}, "cannot read the kubeconfig: stat /no/such"},
		"NotReadable":  {[]string{"--kubeconfig", broken}, "cannot use the kubeconfig: error loading config file"},
		"NotReachable": {
			[]string{"--kubeconfig", kubeconfig(t, "http://127.0.0.1:1")},
			"cannot reach the API server http://127.0.0.1:1: dial tcp",
		},
		"PasswordInURL": {
			[]string{"--server", "http://user:" + canary + "@127.0.0.1:1"},
			"cannot reach the API server http://user:xxxxx@127.0.0.1:1",
		},
		"NoAnswer": {
			[]string{"--server", hanging.URL, "--request-timeout", "20ms"}, "no answer in time (--request-timeout)",
		},
		"Page":         {[]string{"--server", website.URL}, "cannot list the kinds of the API server"},
		"ControlInURL": {[]string{"--server", "http://127.0.0.1:1/ \x1b"}, "invalid control character"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, runWith(t, append([]string{"drift"}, tc.args...)...), tc.want)
		})
	}
}

// TestHelp checks that each command has an example, which is a command that exists.
func TestHelp(t *testing.T) {
	root := newRoot(&console{})

	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}

		got := runWith(t, cmd.Name(), "--help")
		if got.code != 0 || !strings.Contains(got.out, "Examples:\n") {
			t.Errorf("%s --help: %+v", cmd.Name(), got)
		}

		examples(t, root, cmd)
	}
}

func examples(t *testing.T, root, cmd *cobra.Command) {
	t.Helper()

	for line := range strings.Lines(cmd.Example) {
		at := strings.LastIndex(strings.ReplaceAll(line, "kubectl-", "kubectl "), "kubectl moorage ")
		if at < 0 || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}

		found, _, err := root.Find(strings.Fields(line[at+len("kubectl moorage "):]))
		if err != nil || found.Name() != cmd.Name() {
			t.Errorf("%s has the example %q, which is no such command: %v", cmd.Name(), line, err)
		}
	}
}

func TestNoCommandIsHelp(t *testing.T) {
	if a, b := runWith(t, "help", "wait"), runWith(t, "wait", "--help"); a != b || a.code != 0 {
		t.Errorf("help wait is %+v, and wait --help is %+v", a, b)
	}

	if got := runWith(t); got.code != 0 || !strings.Contains(got.out, "Exit codes:") {
		t.Errorf("without a command: %+v", got)
	}
}
