package dev

import (
	"os"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/network"
)

func TestMain(m *testing.M) { os.Exit(network.Main(m.Run)) }
