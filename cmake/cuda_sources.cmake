# The files of the plug-in for NVIDIA GPUs, for nvcc (cuda.cmake) and for a pretended GPU (tests/CMakeLists.txt).
set(SGFS_CUDA_SOURCES cuda_plugin cuda_rows cuda_measure cuda_stream cuda_glm cuda_pairs cuda_walk cuda_wide
    cuda_layers cuda_predict cuda_matrix cuda_cholesky cuda_factor)
list(TRANSFORM SGFS_CUDA_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/context/device/)
list(TRANSFORM SGFS_CUDA_SOURCES APPEND .cu)
