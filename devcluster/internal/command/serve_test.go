package command

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// server is "devcluster serve" in this process.
type server struct {
	stdin  *io.PipeWriter
	stdout *bufio.Reader
	stderr bytes.Buffer // read after code
	code   chan int
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	s := &server{stdin: stdin, stdout: bufio.NewReader(stdout), code: make(chan int, 1)}
	go func() {
		s.code <- Run(append([]string{"serve", "--exit-on-stdin-eof"}, args...), in, out, &s.stderr)
		_ = out.Close()
	}()
	return s
}

// ready returns the line that says so.
func (s *server) ready(t *testing.T) string {
	t.Helper()
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("exit code %d before it was ready: %s", <-s.code, s.stderr.String())
	}
	return line
}

func (s *server) ends(t *testing.T) {
	t.Helper()
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// TestServe starts the real thing three times on one folder, because one
// process can serve once at a time only.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	kubeconfig := filepath.Join(dir, "kubeconfig")

	s := startServer(t, "--dir", dir)
	if line := s.ready(t); !strings.Contains(line, "ready in ") || !strings.Contains(line, "KUBECONFIG="+kubeconfig) {
		t.Errorf("first line %q, want the time and the kubeconfig", line)
	}
	t.Log("it answers")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	t.Log("it stops when its parent is gone, and keeps the folder")
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	s.ends(t)

	t.Log("another program on its port stops it from starting")
	port, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:"+strings.TrimSpace(string(port)))
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call("serve", "--dir", dir); code != 1 || !strings.Contains(stderr, "taken by another program") {
		t.Errorf("exit code %d, error %q; want 1 and the reason", code, stderr)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}

	t.Log("SIGTERM is a clean end, and never discards the folder")
	s = startServer(t, "--dir", dir, "--discard-abandoned")
	s.ready(t)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ends(t)
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Error(err)
	}

	t.Log("unused for long, it ends and discards the folder")
	s = startServer(t, "--dir", dir, "--discard-abandoned", "--idle-exit", "200ms")
	s.ready(t)
	s.ends(t)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder of an abandoned server: %v, want none", err)
	}
}
