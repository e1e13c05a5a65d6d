module task

go 1.19

require github.com/prometheus/node_exporter v1.5.0
